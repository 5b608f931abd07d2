def test_fields_of_records_are_told_by_their_names() -> None:
    """As h5py does; netCDF4-python goes by their order."""
    builder = nczarr.DatasetBuilder("b")
    inner = builder.compound("inner", {"a": "int", "b": "int"})
    place = builder.compound("place", {"lat": "double", "lon": "double", "more": inner, "list": ("short", 2)})
    builder.variable("v", place, [builder.dimension("x", 2)])
    inside = np.dtype([("b", "i4"), ("a", "i4")])
    dtype = np.dtype([("lon", "f8"), ("list", "i2", 2), ("more", inside), ("lat", "f8")])
    given = np.array([(1.5, (7, 8), (3, 4), 2.5), (5.0, (9, 6), (1, 2), 6.0)], dtype)
    builder.attribute("one", given[0], type=place)
    built = builder.finish({"/v": given})
    wanted = [(2.5, 1.5, (4, 3), [7, 8]), (6.0, 5.0, (2, 1), [9, 6])]
    stored = [(each["lat"], each["lon"], each["more"].item(), each["list"].tolist()) for each in built["v"][...]]
    assert stored == wanted
    assert built.checked.dataset.attributes[0].value.data == built["v"][...][:1].tobytes()
    with pytest.raises(nczarr.CompileError, match="`foo` is not a field of compound `place`"):
        builder.finish({"/v": np.zeros(2, [("foo", "f8")])})
