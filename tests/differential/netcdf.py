"""Files by netCDF4-python and by the C tools ncgen and nccopy."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from .elements import NUMBERS, Draw, Element, Source, attribute_lines, boxes, chunk_lengths, extent, indices, numbers

KINDS = (
    "NETCDF4",
    "NETCDF4",
    "NETCDF4",
    "NETCDF4_CLASSIC",
    "NETCDF3_CLASSIC",
    "NETCDF3_64BIT_OFFSET",
    "NETCDF3_64BIT_DATA",
)
CLASSIC = ("i1", "i2", "i4", "f4", "f8")


@st.composite
def files(draw: Draw) -> Source:
    """Files by netCDF4-python: every kind, variables shorter than unlimited dimensions, fill values of their own."""
    kind = draw(st.sampled_from(KINDS))
    enhanced = kind == "NETCDF4"
    lines = ["import netCDF4", f"f = netCDF4.Dataset(path, 'w', format='{kind}')"]
    setter = "{target}.setncattr('{name}', {value})"
    classic = kind != "NETCDF3_64BIT_DATA" and not enhanced
    lines += draw(attribute_lines("f", setter, ("f4", "f8", "i4")))
    sizes = {"x": draw(st.integers(1, 5)), "y": draw(st.integers(1, 4)), "t": None}
    if enhanced and draw(st.booleans()):
        sizes["u"] = None
    lines += [f"f.createDimension('{name}', {size})" for name, size in sizes.items()]
    names = CLASSIC if classic else tuple(NUMBERS)
    variables = []
    for number in range(draw(st.integers(1, 3))):
        inside = enhanced and draw(st.integers(0, 3)) == 3
        name = f"{'g/' if inside else ''}v{number}"
        texts = [Element("'S1'", ("b'a'", "b'\\x00'", "b'z'"))]
        if enhanced:
            texts.append(Element("str", ("'a'", "''", "'\\xe9\\u20ac'")))
        element = draw(numbers(names, "<") | st.sampled_from(texts))
        variables.append((name, element))
    lengths: dict[str, int] = {name: size or 0 for name, size in sizes.items()}
    undefined: dict[str, tuple[tuple[str, ...], list[tuple[slice, ...]]]] = {}
    for name, element in variables:
        dims = draw(_dimensions(sizes, enhanced=enhanced))
        options = draw(_storage(element, dims, sizes, kind))
        text = element.dtype == "str"
        lines.append(f"d = f.createVariable({name!r}, {element.dtype}, {dims}{''.join(options)})")
        lines += draw(attribute_lines("d", setter, ("f4", "f8")))
        written = []
        for turn in range(draw(st.integers(0, 2))):
            limits = tuple(5 if sizes[each] is None else lengths[each] for each in dims)
            box = draw(boxes(limits))
            value = element.array(extent(box), turn)
            value = value.replace(", str)", ", object)") if text else value
            if not dims:
                value = (
                    f"np.array({element.values[turn % len(element.values)]}, {'object' if text else element.dtype})[()]"
                )
            lines.append(f"d[{indices(box) if dims else '...'}] = {value}")
            written.append(box)
            for each, part in zip(dims, box, strict=True):
                if sizes[each] is None:
                    lengths[each] = max(lengths[each], part.stop)
        if any("fill_value=False" in option for option in options):
            undefined[name] = dims, written
    masks = {}
    for name, (dims, written) in undefined.items():
        mask = np.ones([lengths[each] for each in dims], bool)
        for box in written:
            mask[box] = False
        masks[name] = mask
    return Source("old", "netcdf", ".nc", "\n".join([*lines, "f.close()"]), masks, "t")


@st.composite
def _dimensions(draw: Draw, sizes: dict[str, int | None], *, enhanced: bool) -> tuple[str, ...]:
    """Dimensions of a variable: each once, an unlimited one of a classic file in front."""
    chosen = draw(st.lists(st.sampled_from(sorted(sizes)), max_size=3, unique=True))
    if not enhanced:
        chosen.sort(key=lambda name: sizes[name] is not None)
    return tuple(chosen)


@st.composite
def _storage(draw: Draw, element: Element, dims: tuple[str, ...], sizes: dict[str, int | None], kind: str) -> list[str]:
    """Arguments of createVariable: filters, chunks, byte order, fill value."""
    options = []
    text, char = element.dtype == "str", element.dtype == "'S1'"
    if kind.startswith("NETCDF4") and dims:
        filters = ["", ", zlib=True", ", zlib=True, shuffle=False", ", fletcher32=True", ", zlib=True, fletcher32=True"]
        if not text:
            filters += [", compression='zstd'", ", compression='blosc_lz4'", ", compression='bzip2'"]
            if element.dtype.strip("'<>")[0] in "iu":
                filters.append(", compression='szip'")
        options.append(draw(st.sampled_from(filters)))
        if draw(st.booleans()):
            limits = tuple(4 if sizes[each] is None else sizes[each] for each in dims)
            options.append(f", chunksizes={draw(chunk_lengths(limits))}")
        if not text and not char:
            options.append(draw(st.sampled_from(["", "", ", endian='big'", ", endian='little'"])))
    fill = draw(st.sampled_from(["", "own", "False"]))
    if fill == "own" and not text:
        options.append(f", fill_value={element.one(draw(st.integers(0, 3)))}")
    elif fill == "False" and not text:
        options.append(", fill_value=False")
    return options


@st.composite
def copies(draw: Draw) -> Source:
    """Files by ncgen, copied by nccopy with other chunks and filters."""
    length = draw(st.integers(1, 6))
    element = draw(st.sampled_from(["byte", "short", "int", "float", "double", "int64", "ubyte", "char"]))
    values = [draw(st.sampled_from(["1", "2", "_", "0"])) for _ in range(draw(st.integers(0, length)) * 2)]
    data = '"' + "ab"[: len(values)] + '"' if element == "char" else ", ".join(values)
    cdl = f"netcdf s {{ dimensions: t = UNLIMITED; x = 2; variables: {element} v0(t, x); v0:f = 0.1f, 1.e20f;"
    cdl += f" data: v0 = {data}; }}" if values else " data: }"
    flags = draw(st.sampled_from(["", "-d1", "-d1 -s", "-c t/2,x/1", "-d1 -c t/3,x/2"]))
    kind = draw(st.sampled_from(["nc4", "nc4", "nc7"])) if element not in ("int64", "ubyte") else "nc4"
    lines = [
        "import subprocess",
        f"subprocess.run(['ncgen', '-k', {kind!r}, '-o', path + '.0', '-'], input={cdl!r}.encode(), check=True)",
        f"subprocess.run(['nccopy', *{flags.split()!r}, path + '.0', path], check=True)",
    ]
    return Source("old", "netcdf", ".nc", "\n".join(lines), {}, "t")
