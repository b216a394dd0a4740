# Part of compiled.pyx: the literals of code, as the pattern in literals.py finds them.

cdef struct Source:
    int kind
    const void *data
    Py_ssize_t length


def literals(str code, Py_ssize_t max_name):
    """Return the literals of code: see literals.py.

    A string comes with its quotes.  Of a name, the first *max_name* characters count.
    """
    cdef Source source
    cdef Py_ssize_t at = 0, end, after, since = 0
    cdef uint32_t character, before
    source.kind = PyUnicode_KIND(code)
    source.data = PyUnicode_DATA(code)
    source.length = PyUnicode_GET_LENGTH(code)
    found = []
    name = ""
    while at < source.length:
        character, before = read(&source, at), read(&source, at - 1)
        if character == c'"' or character == c"'":
            end = end_of_string(&source, at)
            after = past_spaces(&source, end)
            if read(&source, after) == c":":
                name = code[at + 1 : min(end - 1, at + 1 + max_name)]
                at = after + 1
            else:
                found.append((name, code[at:end], code[since:at]))
                at = since = end
            continue
        if is_of_word(before) and character != c"-":
            at += 1
            continue
        end = 0 if before == c"$" else end_of_name(&source, at)
        if end:
            after = past_spaces(&source, end)
            if is_assigning(&source, after):
                name = code[at : min(end, at + max_name)]
                at = after + 1
                continue
        end = end_of_number(&source, at) or end_of_truth(&source, at)
        if end:
            found.append((name, code[at:end], code[since:at]))
            since = end
        at = end or at + 1
    found.append(("", "", code[since:]))
    return found


cdef inline uint32_t read(const Source *source, Py_ssize_t at) noexcept:
    """Return a character; 0 beyond both ends."""
    if at < 0 or at >= source.length:
        return 0
    return <uint32_t>PyUnicode_READ(source.kind, source.data, at)


cdef inline bint is_of_word(uint32_t character) noexcept:
    return Py_UNICODE_ISALNUM(character) or character == c"_"


cdef Py_ssize_t past_spaces(const Source *source, Py_ssize_t at) noexcept:
    while at < source.length and Py_UNICODE_ISSPACE(read(source, at)):
        at += 1
    return at


cdef Py_ssize_t end_of_string(const Source *source, Py_ssize_t at) noexcept:
    """Return where a string ends that begins with the quote at *at*: at the latest with the code."""
    cdef uint32_t quote = read(source, at), character
    at += 1
    while at < source.length:
        character = read(source, at)
        at += 2 if character == c"\\" else 1
        if character == quote:
            break
    return min(at, source.length)


cdef Py_ssize_t end_of_name(const Source *source, Py_ssize_t at) noexcept:
    """Return where a name ends that begins at *at*; 0 if none does."""
    cdef uint32_t character = read(source, at)
    if not (c"a" <= character | 32 <= c"z" or character == c"_" or character == c"$"):
        return 0
    while is_of_word(character) or character == c"$":
        at += 1
        character = read(source, at)
    return at


cdef bint is_assigning(const Source *source, Py_ssize_t at) noexcept:
    cdef uint32_t character = read(source, at)
    return (character == c":" or character == c"=") and read(source, at + 1) != c"="


cdef Py_ssize_t end_of_number(const Source *source, Py_ssize_t at) noexcept:
    """Return where a number ends that begins at *at*; 0 if none does."""
    cdef uint32_t character
    at += read(source, at) == c"-"
    character = read(source, at)
    if not Py_UNICODE_ISDECIMAL(character):
        return 0
    while is_of_word(character) or character == c".":
        at += 1
        character = read(source, at)
    return at


cdef Py_ssize_t end_of_truth(const Source *source, Py_ssize_t at) noexcept:
    """Return where ``true`` or ``false`` ends that begins at *at*; 0 if neither does."""
    cdef const char *word = b"true" if read(source, at) == c"t" else b"false"
    while word[0]:
        if read(source, at) != <uint32_t>word[0]:
            return 0
        at += 1
        word += 1
    return 0 if is_of_word(read(source, at)) else at
