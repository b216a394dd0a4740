# Part of compiled_walk.pyx: the nodes of libxml2, and what is known of their names.

cdef inline bint is_text(const xmlNode *node) noexcept:
    return node.type == XML_TEXT_NODE or node.type == XML_CDATA_SECTION_NODE


cdef inline xmlNode *following(xmlNode *node, const xmlNode *root) noexcept:
    """Return the next node in the order of the page, NULL after the last one below *root*."""
    if node.type == XML_ELEMENT_NODE and node.children != NULL:
        return node.children
    return after(node, root)


cdef inline xmlNode *after(xmlNode *node, const xmlNode *root) noexcept:
    """Return the next node that is not in *node*."""
    while node != root and node.next == NULL:
        node = node.parent
    return NULL if node == root else node.next


cdef bint is_hidden(const xmlNode *node, int flags, is_hiding) except -1:
    if flags & HIDDEN or attribute(node, "hidden") != NULL:
        return True
    if flags & DIALOG and attribute(node, "open") == NULL:
        return True
    cdef const xmlAttr *style = attribute(node, "style")
    return style != NULL and is_hiding(value_of(style))


cdef const xmlAttr *attribute(const xmlNode *node, const char *name) noexcept:
    """Return the attribute of a name, NULL if there is none."""
    cdef const xmlAttr *found = node.properties
    while found != NULL and strcmp(<const char *>found.name, name) != 0:
        found = found.next
    return found


cdef str value_of(const xmlAttr *found):
    """Return the value of an attribute; empty for NULL."""
    cdef const xmlNode *piece = NULL if found == NULL else found.children
    if piece == NULL:
        return ""
    if piece.next == NULL:
        return decoded(piece)
    pieces = []
    while piece != NULL:
        pieces.append(decoded(piece))
        piece = piece.next
    return "".join(pieces)


cdef str names_of(const xmlNode *node):
    """Return the tag, class and id of an element, with a space between two."""
    tag = text_of(node.name)
    if node.properties == NULL:
        return f"{tag}  "
    return f"{tag} {value_of(attribute(node, 'class'))} {value_of(attribute(node, 'id'))}"


cdef str decoded(const xmlNode *node):
    """Return the text of a node; empty if it is no text."""
    if not is_text(node) or node.content == NULL:
        return ""
    cdef const char *text = <const char *>node.content
    return PyUnicode_DecodeUTF8(text, strlen(text), NULL)


cdef class Names:
    """What is known of the names of one document, by their addresses."""

    cdef const unsigned char *elements[SLOTS]
    cdef int flags[SLOTS]
    cdef int flags_of(self, const unsigned char *name) except -1:
        """Return what an element of a name is."""
        cdef size_t slot = <uintptr_t>name >> 3
        cdef int tries, found
        for tries in range(TRIES):
            slot &= SLOTS - 1
            if self.elements[slot] == name:
                return self.flags[slot]
            if self.elements[slot] == NULL:
                break
            slot += 1
        found = flags_of(text_of(name))
        slot &= SLOTS - 1
        if self.elements[slot] == NULL:
            self.elements[slot] = name
            self.flags[slot] = found
        return found


cdef str text_of(const unsigned char *name):
    return PyUnicode_DecodeUTF8(<const char *>name, strlen(<const char *>name), NULL)


cdef int flags_of(str tag) except -1:
    return (
        (BLOCK if tag in reading.BLOCK_ELEMENTS else 0)
        | (UNSEEN if tag in reading.UNSEEN_ELEMENTS else 0)
        | (CONTENT if tag in reading.CONTENT_ELEMENTS else 0)
        | (HEADING if tag == "h1" else 0)
        | (LINK if tag == "a" else 0)
        | (BESIDE if tag in reading.BESIDE_ELEMENTS else 0)
        | (NAV if tag == "nav" else 0)
        | (NEVER_BESIDE_FLAG if tag in reading.NEVER_BESIDE else 0)
        | (MAIN if tag == "main" else 0)
        | (HIDDEN if tag in reading.HIDDEN_ELEMENTS else 0)
        | (DIALOG if tag == "dialog" else 0)
        | (NOSCRIPT if tag == "noscript" else 0)
    )
