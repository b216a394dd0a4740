"""Extension modules, which setup.cfg cannot declare; all else stands there."""

from setuptools import Extension, setup

# Each is optional: where there is no C compiler, its twin in Python serves.
MODULES = {
    "analysis/compiled": ["analysis/_murmur3.h"],
    "tables/compiled": ["tables/_scan.h", "tables/compiled_lines.pxi"],
    "tables/batch/compiled_codec": [],
}

setup(
    ext_modules=[
        Extension(
            f"scrapy_simhash.{module.replace('/', '.')}",
            sources=[f"scrapy_simhash/{module}.pyx"],
            depends=[f"scrapy_simhash/{part}" for part in parts],
            extra_compile_args=["-O3"],
            optional=True,
        )
        for module, parts in MODULES.items()
    ]
)
