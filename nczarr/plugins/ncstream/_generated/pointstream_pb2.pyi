from nczarr.plugins.ncstream._generated import ncstream_pb2 as _ncstream_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PointFeatureCollection(_message.Message):
    __slots__ = ("name", "timeUnit", "members", "altUnit")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TIMEUNIT_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    ALTUNIT_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    timeUnit: bytes
    members: _containers.RepeatedCompositeFieldContainer[PointFeatureMember]
    altUnit: bytes
    def __init__(self, name: _Optional[bytes] = ..., timeUnit: _Optional[bytes] = ..., members: _Optional[_Iterable[_Union[PointFeatureMember, _Mapping]]] = ..., altUnit: _Optional[bytes] = ...) -> None: ...

class PointFeatureMember(_message.Message):
    __slots__ = ("name", "desc", "units", "dataType", "section")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DESC_FIELD_NUMBER: _ClassVar[int]
    UNITS_FIELD_NUMBER: _ClassVar[int]
    DATATYPE_FIELD_NUMBER: _ClassVar[int]
    SECTION_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    desc: bytes
    units: bytes
    dataType: _ncstream_pb2.DataType
    section: _ncstream_pb2.Section
    def __init__(self, name: _Optional[bytes] = ..., desc: _Optional[bytes] = ..., units: _Optional[bytes] = ..., dataType: _Optional[_Union[_ncstream_pb2.DataType, str]] = ..., section: _Optional[_Union[_ncstream_pb2.Section, _Mapping]] = ...) -> None: ...

class PointFeature(_message.Message):
    __slots__ = ("loc", "data", "sdata")
    LOC_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    SDATA_FIELD_NUMBER: _ClassVar[int]
    loc: Location
    data: bytes
    sdata: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, loc: _Optional[_Union[Location, _Mapping]] = ..., data: _Optional[bytes] = ..., sdata: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Location(_message.Message):
    __slots__ = ("time", "lat", "lon", "alt", "nomTime")
    TIME_FIELD_NUMBER: _ClassVar[int]
    LAT_FIELD_NUMBER: _ClassVar[int]
    LON_FIELD_NUMBER: _ClassVar[int]
    ALT_FIELD_NUMBER: _ClassVar[int]
    NOMTIME_FIELD_NUMBER: _ClassVar[int]
    time: float
    lat: float
    lon: float
    alt: float
    nomTime: float
    def __init__(self, time: _Optional[float] = ..., lat: _Optional[float] = ..., lon: _Optional[float] = ..., alt: _Optional[float] = ..., nomTime: _Optional[float] = ...) -> None: ...

class StationList(_message.Message):
    __slots__ = ("stations",)
    STATIONS_FIELD_NUMBER: _ClassVar[int]
    stations: _containers.RepeatedCompositeFieldContainer[Station]
    def __init__(self, stations: _Optional[_Iterable[_Union[Station, _Mapping]]] = ...) -> None: ...

class Station(_message.Message):
    __slots__ = ("id", "lat", "lon", "alt", "desc", "wmoId")
    ID_FIELD_NUMBER: _ClassVar[int]
    LAT_FIELD_NUMBER: _ClassVar[int]
    LON_FIELD_NUMBER: _ClassVar[int]
    ALT_FIELD_NUMBER: _ClassVar[int]
    DESC_FIELD_NUMBER: _ClassVar[int]
    WMOID_FIELD_NUMBER: _ClassVar[int]
    id: bytes
    lat: float
    lon: float
    alt: float
    desc: bytes
    wmoId: bytes
    def __init__(self, id: _Optional[bytes] = ..., lat: _Optional[float] = ..., lon: _Optional[float] = ..., alt: _Optional[float] = ..., desc: _Optional[bytes] = ..., wmoId: _Optional[bytes] = ...) -> None: ...
