from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class DataType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHAR: _ClassVar[DataType]
    BYTE: _ClassVar[DataType]
    SHORT: _ClassVar[DataType]
    INT: _ClassVar[DataType]
    LONG: _ClassVar[DataType]
    FLOAT: _ClassVar[DataType]
    DOUBLE: _ClassVar[DataType]
    STRING: _ClassVar[DataType]
    STRUCTURE: _ClassVar[DataType]
    SEQUENCE: _ClassVar[DataType]
    ENUM1: _ClassVar[DataType]
    ENUM2: _ClassVar[DataType]
    ENUM4: _ClassVar[DataType]
    OPAQUE: _ClassVar[DataType]
    UBYTE: _ClassVar[DataType]
    USHORT: _ClassVar[DataType]
    UINT: _ClassVar[DataType]
    ULONG: _ClassVar[DataType]

class CoverageType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    GENERAL: _ClassVar[CoverageType]
    CURVILINEAR: _ClassVar[CoverageType]
    GRID: _ClassVar[CoverageType]
    SWATH: _ClassVar[CoverageType]
    FMRC: _ClassVar[CoverageType]
CHAR: DataType
BYTE: DataType
SHORT: DataType
INT: DataType
LONG: DataType
FLOAT: DataType
DOUBLE: DataType
STRING: DataType
STRUCTURE: DataType
SEQUENCE: DataType
ENUM1: DataType
ENUM2: DataType
ENUM4: DataType
OPAQUE: DataType
UBYTE: DataType
USHORT: DataType
UINT: DataType
ULONG: DataType
GENERAL: CoverageType
CURVILINEAR: CoverageType
GRID: CoverageType
SWATH: CoverageType
FMRC: CoverageType

class Header(_message.Message):
    __slots__ = ("location", "title", "id", "root", "version", "nczarr", "fills")
    LOCATION_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    NCZARR_FIELD_NUMBER: _ClassVar[int]
    FILLS_FIELD_NUMBER: _ClassVar[int]
    location: bytes
    title: bytes
    id: bytes
    root: Group
    version: int
    nczarr: bytes
    fills: _containers.RepeatedCompositeFieldContainer[Fill]
    def __init__(self, location: _Optional[bytes] = ..., title: _Optional[bytes] = ..., id: _Optional[bytes] = ..., root: _Optional[_Union[Group, _Mapping]] = ..., version: _Optional[int] = ..., nczarr: _Optional[bytes] = ..., fills: _Optional[_Iterable[_Union[Fill, _Mapping]]] = ...) -> None: ...

class Fill(_message.Message):
    __slots__ = ("path", "part", "value")
    PATH_FIELD_NUMBER: _ClassVar[int]
    PART_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    path: bytes
    part: bytes
    value: bytes
    def __init__(self, path: _Optional[bytes] = ..., part: _Optional[bytes] = ..., value: _Optional[bytes] = ...) -> None: ...

class Group(_message.Message):
    __slots__ = ("name", "dims", "vars", "structs", "atts", "groups", "enumTypes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DIMS_FIELD_NUMBER: _ClassVar[int]
    VARS_FIELD_NUMBER: _ClassVar[int]
    STRUCTS_FIELD_NUMBER: _ClassVar[int]
    ATTS_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    ENUMTYPES_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    dims: _containers.RepeatedCompositeFieldContainer[Dimension]
    vars: _containers.RepeatedCompositeFieldContainer[Variable]
    structs: _containers.RepeatedCompositeFieldContainer[Structure]
    atts: _containers.RepeatedCompositeFieldContainer[Attribute]
    groups: _containers.RepeatedCompositeFieldContainer[Group]
    enumTypes: _containers.RepeatedCompositeFieldContainer[EnumTypedef]
    def __init__(self, name: _Optional[bytes] = ..., dims: _Optional[_Iterable[_Union[Dimension, _Mapping]]] = ..., vars: _Optional[_Iterable[_Union[Variable, _Mapping]]] = ..., structs: _Optional[_Iterable[_Union[Structure, _Mapping]]] = ..., atts: _Optional[_Iterable[_Union[Attribute, _Mapping]]] = ..., groups: _Optional[_Iterable[_Union[Group, _Mapping]]] = ..., enumTypes: _Optional[_Iterable[_Union[EnumTypedef, _Mapping]]] = ...) -> None: ...

class Dimension(_message.Message):
    __slots__ = ("name", "length", "isUnlimited", "isVlen", "isPrivate")
    NAME_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    ISUNLIMITED_FIELD_NUMBER: _ClassVar[int]
    ISVLEN_FIELD_NUMBER: _ClassVar[int]
    ISPRIVATE_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    length: int
    isUnlimited: bool
    isVlen: bool
    isPrivate: bool
    def __init__(self, name: _Optional[bytes] = ..., length: _Optional[int] = ..., isUnlimited: _Optional[bool] = ..., isVlen: _Optional[bool] = ..., isPrivate: _Optional[bool] = ...) -> None: ...

class Variable(_message.Message):
    __slots__ = ("name", "dataType", "shape", "atts", "unsigned", "data", "enumType")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DATATYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    ATTS_FIELD_NUMBER: _ClassVar[int]
    UNSIGNED_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    ENUMTYPE_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    dataType: DataType
    shape: _containers.RepeatedCompositeFieldContainer[Dimension]
    atts: _containers.RepeatedCompositeFieldContainer[Attribute]
    unsigned: bool
    data: bytes
    enumType: bytes
    def __init__(self, name: _Optional[bytes] = ..., dataType: _Optional[_Union[DataType, str]] = ..., shape: _Optional[_Iterable[_Union[Dimension, _Mapping]]] = ..., atts: _Optional[_Iterable[_Union[Attribute, _Mapping]]] = ..., unsigned: _Optional[bool] = ..., data: _Optional[bytes] = ..., enumType: _Optional[bytes] = ...) -> None: ...

class Structure(_message.Message):
    __slots__ = ("name", "dataType", "shape", "atts", "vars", "structs")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DATATYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    ATTS_FIELD_NUMBER: _ClassVar[int]
    VARS_FIELD_NUMBER: _ClassVar[int]
    STRUCTS_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    dataType: DataType
    shape: _containers.RepeatedCompositeFieldContainer[Dimension]
    atts: _containers.RepeatedCompositeFieldContainer[Attribute]
    vars: _containers.RepeatedCompositeFieldContainer[Variable]
    structs: _containers.RepeatedCompositeFieldContainer[Structure]
    def __init__(self, name: _Optional[bytes] = ..., dataType: _Optional[_Union[DataType, str]] = ..., shape: _Optional[_Iterable[_Union[Dimension, _Mapping]]] = ..., atts: _Optional[_Iterable[_Union[Attribute, _Mapping]]] = ..., vars: _Optional[_Iterable[_Union[Variable, _Mapping]]] = ..., structs: _Optional[_Iterable[_Union[Structure, _Mapping]]] = ...) -> None: ...

class EnumTypedef(_message.Message):
    __slots__ = ("name", "map")
    class EnumType(_message.Message):
        __slots__ = ("code", "value")
        CODE_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        code: int
        value: bytes
        def __init__(self, code: _Optional[int] = ..., value: _Optional[bytes] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    MAP_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    map: _containers.RepeatedCompositeFieldContainer[EnumTypedef.EnumType]
    def __init__(self, name: _Optional[bytes] = ..., map: _Optional[_Iterable[_Union[EnumTypedef.EnumType, _Mapping]]] = ...) -> None: ...

class Attribute(_message.Message):
    __slots__ = ("name", "type", "len", "data", "sdata", "unsigned", "dataType")
    class Type(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        STRING: _ClassVar[Attribute.Type]
        BYTE: _ClassVar[Attribute.Type]
        SHORT: _ClassVar[Attribute.Type]
        INT: _ClassVar[Attribute.Type]
        LONG: _ClassVar[Attribute.Type]
        FLOAT: _ClassVar[Attribute.Type]
        DOUBLE: _ClassVar[Attribute.Type]
    STRING: Attribute.Type
    BYTE: Attribute.Type
    SHORT: Attribute.Type
    INT: Attribute.Type
    LONG: Attribute.Type
    FLOAT: Attribute.Type
    DOUBLE: Attribute.Type
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    LEN_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    SDATA_FIELD_NUMBER: _ClassVar[int]
    UNSIGNED_FIELD_NUMBER: _ClassVar[int]
    DATATYPE_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    type: Attribute.Type
    len: int
    data: bytes
    sdata: _containers.RepeatedScalarFieldContainer[bytes]
    unsigned: bool
    dataType: DataType
    def __init__(self, name: _Optional[bytes] = ..., type: _Optional[_Union[Attribute.Type, str]] = ..., len: _Optional[int] = ..., data: _Optional[bytes] = ..., sdata: _Optional[_Iterable[bytes]] = ..., unsigned: _Optional[bool] = ..., dataType: _Optional[_Union[DataType, str]] = ...) -> None: ...

class Range(_message.Message):
    __slots__ = ("start", "size", "stride")
    START_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    STRIDE_FIELD_NUMBER: _ClassVar[int]
    start: int
    size: int
    stride: int
    def __init__(self, start: _Optional[int] = ..., size: _Optional[int] = ..., stride: _Optional[int] = ...) -> None: ...

class Section(_message.Message):
    __slots__ = ("range",)
    RANGE_FIELD_NUMBER: _ClassVar[int]
    range: _containers.RepeatedCompositeFieldContainer[Range]
    def __init__(self, range: _Optional[_Iterable[_Union[Range, _Mapping]]] = ...) -> None: ...

class Data(_message.Message):
    __slots__ = ("varName", "dataType", "section", "bigend", "version", "compress", "vdata", "uncompressedSize", "nil")
    class Compress(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        NONE: _ClassVar[Data.Compress]
        DEFLATE: _ClassVar[Data.Compress]
    NONE: Data.Compress
    DEFLATE: Data.Compress
    VARNAME_FIELD_NUMBER: _ClassVar[int]
    DATATYPE_FIELD_NUMBER: _ClassVar[int]
    SECTION_FIELD_NUMBER: _ClassVar[int]
    BIGEND_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COMPRESS_FIELD_NUMBER: _ClassVar[int]
    VDATA_FIELD_NUMBER: _ClassVar[int]
    UNCOMPRESSEDSIZE_FIELD_NUMBER: _ClassVar[int]
    NIL_FIELD_NUMBER: _ClassVar[int]
    varName: bytes
    dataType: DataType
    section: Section
    bigend: bool
    version: int
    compress: Data.Compress
    vdata: bool
    uncompressedSize: int
    nil: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, varName: _Optional[bytes] = ..., dataType: _Optional[_Union[DataType, str]] = ..., section: _Optional[_Union[Section, _Mapping]] = ..., bigend: _Optional[bool] = ..., version: _Optional[int] = ..., compress: _Optional[_Union[Data.Compress, str]] = ..., vdata: _Optional[bool] = ..., uncompressedSize: _Optional[int] = ..., nil: _Optional[_Iterable[int]] = ...) -> None: ...

class StructureData(_message.Message):
    __slots__ = ("member", "data", "heapCount", "sdata", "nrows", "rowLength")
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    HEAPCOUNT_FIELD_NUMBER: _ClassVar[int]
    SDATA_FIELD_NUMBER: _ClassVar[int]
    NROWS_FIELD_NUMBER: _ClassVar[int]
    ROWLENGTH_FIELD_NUMBER: _ClassVar[int]
    member: _containers.RepeatedScalarFieldContainer[int]
    data: bytes
    heapCount: _containers.RepeatedScalarFieldContainer[int]
    sdata: _containers.RepeatedScalarFieldContainer[bytes]
    nrows: int
    rowLength: int
    def __init__(self, member: _Optional[_Iterable[int]] = ..., data: _Optional[bytes] = ..., heapCount: _Optional[_Iterable[int]] = ..., sdata: _Optional[_Iterable[bytes]] = ..., nrows: _Optional[int] = ..., rowLength: _Optional[int] = ...) -> None: ...

class DataCol(_message.Message):
    __slots__ = ("name", "dataType", "section", "bigend", "version", "isVlen", "nelems", "primdata", "stringdata", "vlens", "opaquedata", "structdata", "nil")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DATATYPE_FIELD_NUMBER: _ClassVar[int]
    SECTION_FIELD_NUMBER: _ClassVar[int]
    BIGEND_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    ISVLEN_FIELD_NUMBER: _ClassVar[int]
    NELEMS_FIELD_NUMBER: _ClassVar[int]
    PRIMDATA_FIELD_NUMBER: _ClassVar[int]
    STRINGDATA_FIELD_NUMBER: _ClassVar[int]
    VLENS_FIELD_NUMBER: _ClassVar[int]
    OPAQUEDATA_FIELD_NUMBER: _ClassVar[int]
    STRUCTDATA_FIELD_NUMBER: _ClassVar[int]
    NIL_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    dataType: DataType
    section: Section
    bigend: bool
    version: int
    isVlen: bool
    nelems: int
    primdata: bytes
    stringdata: _containers.RepeatedScalarFieldContainer[bytes]
    vlens: _containers.RepeatedScalarFieldContainer[int]
    opaquedata: _containers.RepeatedScalarFieldContainer[bytes]
    structdata: ArrayStructureCol
    nil: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, name: _Optional[bytes] = ..., dataType: _Optional[_Union[DataType, str]] = ..., section: _Optional[_Union[Section, _Mapping]] = ..., bigend: _Optional[bool] = ..., version: _Optional[int] = ..., isVlen: _Optional[bool] = ..., nelems: _Optional[int] = ..., primdata: _Optional[bytes] = ..., stringdata: _Optional[_Iterable[bytes]] = ..., vlens: _Optional[_Iterable[int]] = ..., opaquedata: _Optional[_Iterable[bytes]] = ..., structdata: _Optional[_Union[ArrayStructureCol, _Mapping]] = ..., nil: _Optional[_Iterable[int]] = ...) -> None: ...

class ArrayStructureCol(_message.Message):
    __slots__ = ("memberData",)
    MEMBERDATA_FIELD_NUMBER: _ClassVar[int]
    memberData: _containers.RepeatedCompositeFieldContainer[DataCol]
    def __init__(self, memberData: _Optional[_Iterable[_Union[DataCol, _Mapping]]] = ...) -> None: ...

class Error(_message.Message):
    __slots__ = ("message", "code")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    message: bytes
    code: int
    def __init__(self, message: _Optional[bytes] = ..., code: _Optional[int] = ...) -> None: ...

class CoverageDataResponse(_message.Message):
    __slots__ = ("coordAxes", "coordSys", "coordTransforms", "geoArray")
    COORDAXES_FIELD_NUMBER: _ClassVar[int]
    COORDSYS_FIELD_NUMBER: _ClassVar[int]
    COORDTRANSFORMS_FIELD_NUMBER: _ClassVar[int]
    GEOARRAY_FIELD_NUMBER: _ClassVar[int]
    coordAxes: _containers.RepeatedCompositeFieldContainer[CoordAxis]
    coordSys: _containers.RepeatedCompositeFieldContainer[CoordSys]
    coordTransforms: _containers.RepeatedCompositeFieldContainer[CoordTransform]
    geoArray: _containers.RepeatedCompositeFieldContainer[GeoReferencedArray]
    def __init__(self, coordAxes: _Optional[_Iterable[_Union[CoordAxis, _Mapping]]] = ..., coordSys: _Optional[_Iterable[_Union[CoordSys, _Mapping]]] = ..., coordTransforms: _Optional[_Iterable[_Union[CoordTransform, _Mapping]]] = ..., geoArray: _Optional[_Iterable[_Union[GeoReferencedArray, _Mapping]]] = ...) -> None: ...

class GeoReferencedArray(_message.Message):
    __slots__ = ("coverageName", "dataType", "bigend", "version", "compress", "uncompressedSize", "shape", "axisName", "coordSysName", "primdata")
    COVERAGENAME_FIELD_NUMBER: _ClassVar[int]
    DATATYPE_FIELD_NUMBER: _ClassVar[int]
    BIGEND_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    COMPRESS_FIELD_NUMBER: _ClassVar[int]
    UNCOMPRESSEDSIZE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    AXISNAME_FIELD_NUMBER: _ClassVar[int]
    COORDSYSNAME_FIELD_NUMBER: _ClassVar[int]
    PRIMDATA_FIELD_NUMBER: _ClassVar[int]
    coverageName: bytes
    dataType: DataType
    bigend: bool
    version: int
    compress: Data.Compress
    uncompressedSize: int
    shape: _containers.RepeatedScalarFieldContainer[int]
    axisName: _containers.RepeatedScalarFieldContainer[bytes]
    coordSysName: bytes
    primdata: bytes
    def __init__(self, coverageName: _Optional[bytes] = ..., dataType: _Optional[_Union[DataType, str]] = ..., bigend: _Optional[bool] = ..., version: _Optional[int] = ..., compress: _Optional[_Union[Data.Compress, str]] = ..., uncompressedSize: _Optional[int] = ..., shape: _Optional[_Iterable[int]] = ..., axisName: _Optional[_Iterable[bytes]] = ..., coordSysName: _Optional[bytes] = ..., primdata: _Optional[bytes] = ...) -> None: ...

class CoverageDataset(_message.Message):
    __slots__ = ("name", "atts", "latlonRect", "projRect", "dateRange", "coordSys", "coordTransforms", "coordAxes", "grids", "coverageType")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ATTS_FIELD_NUMBER: _ClassVar[int]
    LATLONRECT_FIELD_NUMBER: _ClassVar[int]
    PROJRECT_FIELD_NUMBER: _ClassVar[int]
    DATERANGE_FIELD_NUMBER: _ClassVar[int]
    COORDSYS_FIELD_NUMBER: _ClassVar[int]
    COORDTRANSFORMS_FIELD_NUMBER: _ClassVar[int]
    COORDAXES_FIELD_NUMBER: _ClassVar[int]
    GRIDS_FIELD_NUMBER: _ClassVar[int]
    COVERAGETYPE_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    atts: _containers.RepeatedCompositeFieldContainer[Attribute]
    latlonRect: Rectangle
    projRect: Rectangle
    dateRange: CalendarDateRange
    coordSys: _containers.RepeatedCompositeFieldContainer[CoordSys]
    coordTransforms: _containers.RepeatedCompositeFieldContainer[CoordTransform]
    coordAxes: _containers.RepeatedCompositeFieldContainer[CoordAxis]
    grids: _containers.RepeatedCompositeFieldContainer[Coverage]
    coverageType: CoverageType
    def __init__(self, name: _Optional[bytes] = ..., atts: _Optional[_Iterable[_Union[Attribute, _Mapping]]] = ..., latlonRect: _Optional[_Union[Rectangle, _Mapping]] = ..., projRect: _Optional[_Union[Rectangle, _Mapping]] = ..., dateRange: _Optional[_Union[CalendarDateRange, _Mapping]] = ..., coordSys: _Optional[_Iterable[_Union[CoordSys, _Mapping]]] = ..., coordTransforms: _Optional[_Iterable[_Union[CoordTransform, _Mapping]]] = ..., coordAxes: _Optional[_Iterable[_Union[CoordAxis, _Mapping]]] = ..., grids: _Optional[_Iterable[_Union[Coverage, _Mapping]]] = ..., coverageType: _Optional[_Union[CoverageType, str]] = ...) -> None: ...

class Rectangle(_message.Message):
    __slots__ = ("startx", "starty", "incx", "incy")
    STARTX_FIELD_NUMBER: _ClassVar[int]
    STARTY_FIELD_NUMBER: _ClassVar[int]
    INCX_FIELD_NUMBER: _ClassVar[int]
    INCY_FIELD_NUMBER: _ClassVar[int]
    startx: float
    starty: float
    incx: float
    incy: float
    def __init__(self, startx: _Optional[float] = ..., starty: _Optional[float] = ..., incx: _Optional[float] = ..., incy: _Optional[float] = ...) -> None: ...

class CalendarDateRange(_message.Message):
    __slots__ = ("start", "end", "calendar")
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    CALENDAR_FIELD_NUMBER: _ClassVar[int]
    start: int
    end: int
    calendar: int
    def __init__(self, start: _Optional[int] = ..., end: _Optional[int] = ..., calendar: _Optional[int] = ...) -> None: ...

class CoordSys(_message.Message):
    __slots__ = ("name", "axisNames", "transformNames", "coverageType")
    NAME_FIELD_NUMBER: _ClassVar[int]
    AXISNAMES_FIELD_NUMBER: _ClassVar[int]
    TRANSFORMNAMES_FIELD_NUMBER: _ClassVar[int]
    COVERAGETYPE_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    axisNames: _containers.RepeatedScalarFieldContainer[bytes]
    transformNames: _containers.RepeatedScalarFieldContainer[bytes]
    coverageType: CoverageType
    def __init__(self, name: _Optional[bytes] = ..., axisNames: _Optional[_Iterable[bytes]] = ..., transformNames: _Optional[_Iterable[bytes]] = ..., coverageType: _Optional[_Union[CoverageType, str]] = ...) -> None: ...

class CoordTransform(_message.Message):
    __slots__ = ("isHoriz", "name", "params")
    ISHORIZ_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    isHoriz: bool
    name: bytes
    params: _containers.RepeatedCompositeFieldContainer[Attribute]
    def __init__(self, isHoriz: _Optional[bool] = ..., name: _Optional[bytes] = ..., params: _Optional[_Iterable[_Union[Attribute, _Mapping]]] = ...) -> None: ...

class CoordAxis(_message.Message):
    __slots__ = ("name", "dataType", "atts", "axisType", "units", "description", "depend", "dependsOn", "shape", "nvalues", "spacing", "startValue", "endValue", "resolution", "values")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DATATYPE_FIELD_NUMBER: _ClassVar[int]
    ATTS_FIELD_NUMBER: _ClassVar[int]
    AXISTYPE_FIELD_NUMBER: _ClassVar[int]
    UNITS_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    DEPEND_FIELD_NUMBER: _ClassVar[int]
    DEPENDSON_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    NVALUES_FIELD_NUMBER: _ClassVar[int]
    SPACING_FIELD_NUMBER: _ClassVar[int]
    STARTVALUE_FIELD_NUMBER: _ClassVar[int]
    ENDVALUE_FIELD_NUMBER: _ClassVar[int]
    RESOLUTION_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    dataType: DataType
    atts: _containers.RepeatedCompositeFieldContainer[Attribute]
    axisType: int
    units: bytes
    description: bytes
    depend: int
    dependsOn: _containers.RepeatedScalarFieldContainer[bytes]
    shape: _containers.RepeatedScalarFieldContainer[int]
    nvalues: int
    spacing: int
    startValue: float
    endValue: float
    resolution: float
    values: bytes
    def __init__(self, name: _Optional[bytes] = ..., dataType: _Optional[_Union[DataType, str]] = ..., atts: _Optional[_Iterable[_Union[Attribute, _Mapping]]] = ..., axisType: _Optional[int] = ..., units: _Optional[bytes] = ..., description: _Optional[bytes] = ..., depend: _Optional[int] = ..., dependsOn: _Optional[_Iterable[bytes]] = ..., shape: _Optional[_Iterable[int]] = ..., nvalues: _Optional[int] = ..., spacing: _Optional[int] = ..., startValue: _Optional[float] = ..., endValue: _Optional[float] = ..., resolution: _Optional[float] = ..., values: _Optional[bytes] = ...) -> None: ...

class Coverage(_message.Message):
    __slots__ = ("name", "dataType", "atts", "coordSys", "units", "description")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DATATYPE_FIELD_NUMBER: _ClassVar[int]
    ATTS_FIELD_NUMBER: _ClassVar[int]
    COORDSYS_FIELD_NUMBER: _ClassVar[int]
    UNITS_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    dataType: DataType
    atts: _containers.RepeatedCompositeFieldContainer[Attribute]
    coordSys: bytes
    units: bytes
    description: bytes
    def __init__(self, name: _Optional[bytes] = ..., dataType: _Optional[_Union[DataType, str]] = ..., atts: _Optional[_Iterable[_Union[Attribute, _Mapping]]] = ..., coordSys: _Optional[bytes] = ..., units: _Optional[bytes] = ..., description: _Optional[bytes] = ...) -> None: ...
