"""The release of this package, for modules that must not load the package's names."""

RELEASE = "0.1.0"
