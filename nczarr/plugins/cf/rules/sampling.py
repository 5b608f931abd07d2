"""9 Discrete sampling geometries: the conformance document has no rules; these are those of the text."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.diagnostics.report import suggest
from nczarr.plugins.cf.rule import Breach, find_missing_dimensions
from nczarr.plugins.cf.view import INTEGERS, CFDataset

FEATURES = ("point", "timeSeries", "trajectory", "profile", "timeSeriesProfile", "trajectoryProfile")
ROLES = ("timeseries_id", "profile_id", "trajectory_id")
MESH_ROLES = ("mesh_topology", "location_index_set", "parent_mesh_topology")


def check_sampling(dataset: CFDataset) -> Iterator[Breach]:
    """Find features, roles and indices that are wrong."""
    node, feature = dataset.root.attributes.get("featureType"), dataset.root.text("featureType")
    if node is not None and feature.lower() not in map(str.lower, FEATURES):
        yield Breach("feature", f"`featureType` is `{feature}`", node, "", tuple(suggest(feature, FEATURES)))
    roles = []
    for variable in dataset.variables.values():
        for name in ("sample_dimension", "instance_dimension"):
            if name not in variable.attributes:
                continue
            words = variable.text(name).split()
            yield from find_missing_dimensions(dataset, variable, name, words)
            if variable.type not in INTEGERS or len(variable.dimensions) != 1:
                what = f"`{variable.path}` has `{name}`, and is not a list of integers"
                yield Breach("index", what, variable.attributes[name])
            if node is None:
                what = f"`{variable.path}` has `{name}`, and the dataset no `featureType`"
                yield Breach("featureless", what, variable.attributes[name])
        role = variable.text("cf_role")
        if role in ROLES:
            roles.append(variable)
        elif "cf_role" in variable.attributes and role not in MESH_ROLES and not role.endswith("_connectivity"):
            what = f"`cf_role` of `{variable.path}` is `{role}`"
            yield Breach("role", what, variable.attributes["cf_role"], "", tuple(suggest(role, ROLES)))
    if not roles and feature.lower() in [one.lower() for one in FEATURES[1:]]:
        what = f"`featureType` is `{feature}`, and no variable has `cf_role`"
        yield Breach("identified", what, dataset.root.attributes["featureType"])
    allowed = 2 if feature.lower().endswith("profile") and feature.lower() != "profile" else 1
    if node is not None and len(roles) > allowed:
        what = f"{len(roles)} variables have `cf_role`, and `featureType` is `{feature}`"
        yield Breach("single", what, roles[-1].attributes["cf_role"])
