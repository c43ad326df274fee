"""The version of the package. It is the version of the npm package that it was made for."""

__version__ = "0.2.0"
