"""Changes of the dimensions of an HDF5 file: which datasets are their scales."""

from __future__ import annotations

from typing import Any

from nczarr import names
from nczarr.plugins.edit.header_changes import DimensionChange
from nczarr.plugins.edit.netcdf4 import scales
from nczarr.plugins.edit.netcdf4.attributes import RefusedEditError
from nczarr.plugins.edit.netcdf4.open_objects import EditedObjects, coordinate_of

ASIDE = "_nczarr_edit_scale"
"""Name of the link of a scale that exists only during the edit."""


class ScaleEditor:
    """Editor of the scales of one file."""

    def __init__(self, objects: EditedObjects) -> None:
        self.objects = objects
        self.work = objects.work
        self.before, self.after = objects.before, objects.after

    def change_dimensions(self) -> None:
        """Make unused dimensions again, which are unlimited or have another length."""
        for change in self.work.changes:
            if not isinstance(change, DimensionChange):
                continue
            path, scale = change.path, self.objects.scales[change.path]
            if scale is None or not scales.is_without_variable(scale) or self._users(path):
                what = "unlimited" if change.after.unlimited else "fixed"
                raise RefusedEditError(f"dimension `{path}` cannot become {what}: its variables have that extent")
            group, number = self.objects.group(names.parent(path)), self._require_id(scale)
            link = names.last(self.work.new_path("dimension", path))
            self.objects.scales[path] = scales.create_scale(
                group, link, change.after.size, unlimited=change.after.unlimited, dimension_id=number
            )

    def replace_scales(self) -> None:
        """Give dimensions the scales that they have afterwards: coordinate variables, or datasets without values."""
        for path, scale in list(self.objects.scales.items()):
            if scale is None or path in self.objects.gone["dimension"]:
                continue
            new_path = self.work.new_path("dimension", path)
            coordinate = coordinate_of(self.after, new_path)
            old_variable = None if coordinate is None else self.objects.old_path("variable", coordinate)
            before = None if scales.is_without_variable(scale) else path
            if before == old_variable:
                if before is not None and names.last(new_path) != names.last(path):
                    scales.write_scale_name(scale, names.last(new_path))
            elif before is None and old_variable is not None:
                self._give_coordinate(path, new_path, self.objects.datasets[old_variable], old_variable)
            elif before is not None and coordinate is None:
                self._give_own_scale(path, new_path, names.last(new_path))
            elif old_variable is None:
                raise RefusedEditError(f"dimension `{path}` would get a new coordinate variable")
            else:
                group = self.objects.group(names.parent(path))
                self._give_own_scale(path, new_path, ASIDE)
                self._give_coordinate(path, new_path, self.objects.datasets[old_variable], old_variable)
                group.unlink(ASIDE.encode())

    def _give_coordinate(self, path: str, new_path: str, dataset: Any, variable: str) -> None:
        """Make a variable the scale of a dimension that had none."""
        if len(self.before.variables[variable].dimensions) != 1:
            raise RefusedEditError(f"`{variable}` would become a coordinate variable of several dimensions")
        scale, users = self.objects.scales[path], self._users(path, all_variables=True)
        number = self._require_id(scale)
        scales.detach_all(dataset, self.objects.scales_of(variable))
        scales.make_scale(dataset, names.last(new_path), number)
        users = [(user, axis) for user, axis in users if user != dataset]
        scales.replace_scale(scale, dataset, users)
        self.objects.scales[path] = dataset

    def _give_own_scale(self, path: str, new_path: str, link: str) -> None:
        """Give a dimension with a coordinate variable a scale of its own, with a link of this name."""
        from h5py import h5s

        scale, users = self.objects.scales[path], self._users(path)
        dimension = self.after.dimensions[new_path]
        length, most = (extent[0] for extent in (scale.shape, scale.get_space().get_simple_extent_dims(True)))
        group = self.objects.group(names.parent(path))
        new = scales.create_scale(
            group,
            link,
            length,
            unlimited=most == h5s.UNLIMITED and dimension.unlimited,
            dimension_id=self._require_id(scale),
        )
        scales.replace_scale(scale, new, users)
        self.objects.scales[path] = new
        if path not in self.objects.gone["variable"]:
            scales.make_variable(scale, self.objects.scales_of(path))

    def _require_id(self, scale: Any) -> int | None:
        """Return the id that the file states for a dimension.

        Raises RefusedEditError if it states none, and variables use ids: then the
        order of datasets numbers the dimensions.
        """
        number = scales.read_dimension_id(scale)
        if number is None and any(map(scales.states_coordinates, self.objects.datasets.values())):
            raise RefusedEditError("its dimensions have no ids, by which variables name them")
        return number

    def _users(self, path: str, *, all_variables: bool = False) -> list[scales.Attachment]:
        """Return the variables that use a dimension, without its coordinate variable unless `all_variables`."""
        own = None if all_variables else coordinate_of(self.before, path)
        return [
            (self.objects.datasets[user], number)
            for user, variable in self.before.variables.items()
            if user != own and user not in self.objects.gone["variable"]
            for number, reference in enumerate(variable.dimensions)
            if reference == path
        ]
