"""Reads arrays of stores by one library, in a process of its own: `array_readers.py READER LIST`.

LIST is a JSON file with `{"store", "array", "version", "truth"}` for each array; `truth` is a file of NumPy with the
values that zarr-python reads. Prints a JSON list of texts: `equal`, `wrong: …` or `refused: …`. Runs with any Python
that has the library and NumPy.
"""

import json
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")


def by_tensorstore(store, array, version):
    import tensorstore

    driver = "zarr3" if version == 3 else "zarr"
    place = {"driver": "file", "path": f"{store}/{array}/"}
    return tensorstore.open({"driver": driver, "kvstore": place}).result().read().result()


def by_zarrs(store, array, version):
    import zarr

    zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline", "codec_pipeline.strict": True})
    return zarr.open_array(f"{store}/{array}", mode="r")[...]


def by_xarray_tensorstore(store, array, version):
    import xarray_tensorstore

    group, _, name = array.rpartition("/")
    return xarray_tensorstore.open_zarr(f"{store}/{group}")[name].values


def by_gdal(store, array, version):
    from osgeo import gdal

    gdal.UseExceptions()
    group, _, name = array.rpartition("/")
    opened = gdal.OpenEx(f'ZARR:"{store}/{group}"', gdal.OF_MULTIDIM_RASTER)
    found = opened.GetRootGroup().OpenMDArray(name)
    if found is None:
        raise RuntimeError(gdal.GetLastErrorMsg())
    kind = found.GetDataType().GetClass()
    if kind == gdal.GEDTC_STRING:
        texts = ["" if text is None else text for text in found.Read()]
        return np.array(texts, object).reshape([dimension.GetSize() for dimension in found.GetDimensions()])
    return found.ReadAsArray() if kind == gdal.GEDTC_NUMERIC else found.Read()


def compare(values, truth):
    """Return whether values are those of the truth, in words; wider numbers of the same value are."""
    values = np.asarray(values)
    if truth.dtype.names:
        return "equal" if values.dtype.names and values.tobytes() == truth.tobytes() else "wrong: a record"
    if truth.dtype == "S1" and values.shape == truth.shape[:-1]:
        return "equal"  # xarray joined chars
    if values.shape != truth.shape:
        return f"wrong: shape {values.shape}"
    if values.dtype.kind == "M" and truth.dtype.kind != "M":
        return "equal"  # xarray decoded the numbers as times
    if truth.dtype.kind in "iufcb":
        same = values.dtype.kind in "iufcb" and np.array_equal(values, truth, equal_nan=truth.dtype.kind in "fc")
    else:
        same = list(map(words, values.reshape(-1).tolist())) == list(map(words, truth.reshape(-1).tolist()))
    return "equal" if same else f"wrong: {values.reshape(-1)[:3]} for {truth.reshape(-1)[:3]}"


def words(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


READERS = {
    "tensorstore": by_tensorstore,
    "zarrs": by_zarrs,
    "xarray-tensorstore": by_xarray_tensorstore,
    "gdal": by_gdal,
}


def main(reader, listing):
    answers = []
    with open(listing) as file:
        rows = json.load(file)
    for row in rows:
        try:
            values = READERS[reader](row["store"], row["array"], row["version"])
            answers.append(compare(values, np.load(row["truth"], allow_pickle=True)))
        except Exception as error:
            answers.append(f"refused: {type(error).__name__}: {str(error)[:200]}")
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
