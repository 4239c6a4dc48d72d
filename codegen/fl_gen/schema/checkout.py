"""How a source tree of a framework is read: the section `checkout` of `interface.yaml`."""

from __future__ import annotations

from .frozen import frozen
from .location import Location


@frozen
class Requirement:
    """A header of another project without which a checkout cannot be read, and the package that brings it."""

    header: str
    package: str
    location: Location


@frozen
class StandIn:
    """What stands for a header that this machine lacks; a header without a stand-in is taken as empty."""

    header: str
    text: str
    location: Location


@frozen
class Checkout:
    """How a source tree of the framework is read. All folders are relative to it.

    `include`: include folders; `sources`: folders whose files register or call kernels; `suffixes`: of C++ sources;
    `headers`: suffixes of headers; `device_suffixes`: of sources in a dialect for devices, whose words are defined away
    by `device_defines`; `system`: folders below a system's include folder that are include folders too.
    """

    include: tuple[str, ...]
    system: tuple[str, ...]
    sources: tuple[str, ...]
    suffixes: tuple[str, ...]
    headers: tuple[str, ...]
    device_suffixes: tuple[str, ...]
    defines: tuple[str, ...]
    device_defines: tuple[str, ...]
    needs: tuple[Requirement, ...]
    stand_ins: tuple[StandIn, ...]
    location: Location
