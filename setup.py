"""Extension modules, which setup.cfg cannot declare; all else stands there."""

from setuptools import Extension, setup

# Each is optional: where there is no C compiler, its twin in Python serves.
HEADERS = {"analysis": "_murmur3.h", "tables": "_scan.h"}

setup(
    ext_modules=[
        Extension(
            f"scrapy_simhash.{package}.compiled",
            sources=[f"scrapy_simhash/{package}/compiled.pyx"],
            depends=[f"scrapy_simhash/{package}/{header}"],
            extra_compile_args=["-O3"],
            optional=True,
        )
        for package, header in HEADERS.items()
    ]
)
