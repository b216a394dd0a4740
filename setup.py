"""Extension modules, which setup.cfg cannot declare; all else stands there."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        # Optional: where there is no C compiler, the reference in Python serves.
        Extension(
            "scrapy_simhash.tables.compiled",
            sources=["scrapy_simhash/tables/compiled.pyx"],
            depends=["scrapy_simhash/tables/_scan.h"],
            extra_compile_args=["-O3"],
            optional=True,
        )
    ]
)
