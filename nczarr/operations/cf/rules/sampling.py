"""9 Discrete sampling geometries: the conformance document has no rules; these are those of the text."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.names import suggest
from nczarr.operations.cf.breaches import find_missing_dimensions
from nczarr.operations.cf.rule import Breach, Rules, Topic
from nczarr.operations.cf.view import INTEGERS, CFDataset

FEATURES = ("point", "timeSeries", "trajectory", "profile", "timeSeriesProfile", "trajectoryProfile")
ROLES = ("timeseries_id", "profile_id", "trajectory_id")
MESH_ROLES = ("mesh_topology", "location_index_set", "parent_mesh_topology")

S, F = Rules("cf-sampling", "9.3"), Rules("cf-sampling", "9.4")
C = Rules("cf-sampling", "9.5")

_V = "dimensions: s = 2 ; o = 4 ; variables: "

RULES = (
    F.must("feature", "`featureType` is one of Table 9.1.", 'float v ; :featureType = "«timeserie|timeSeries»" ;',
        "write `point`, `timeSeries`, `trajectory`, `profile`, `timeSeriesProfile` or `trajectoryProfile`"),
    F.must("featureless", "A dataset with ragged arrays has `featureType`.", _V
        + 'int n(s) ; n:sample_dimension = "o" ; float v(o) ; «|:featureType = "timeSeries" ;»', "write `featureType`"),
    S.must("exists", "`sample_dimension` and `instance_dimension` name dimensions.", _V
        + 'int n(s) ; n:sample_dimension = "«obs|o»" ; float v(o) ; :featureType = "timeSeries" ;', "correct the name"),
    S.must("index", "Counts and indices of ragged arrays are integers of one dimension.", _V
        + '«float|int» n(s) ; n:sample_dimension = "o" ; float v(o) ; :featureType = "timeSeries" ;',
        "store integers, one for each instance or element"),
    C.must("role", "`cf_role` is `timeseries_id`, `profile_id` or `trajectory_id`.",
        'int i ; i:cf_role = "«station_id|timeseries_id»" ;', "write one of these words"),
    C.should("identified", "A variable with `cf_role` identifies the features.",
        'int i ; «|i:cf_role = "timeseries_id" ;» :featureType = "timeSeries" ;',
        "write `cf_role` at the variable with their names"),
    C.should("single", "There is one `cf_role`, or two for profiles along time series and trajectories.",
        'int i ; i:cf_role = "timeseries_id" ; int j ; «j:cf_role = "profile_id" ;|» :featureType = "timeSeries" ;',
        "remove the attribute from one of the variables"),
)  # fmt: skip


def find(dataset: CFDataset) -> Iterator[Breach]:
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


TOPIC = Topic(RULES, find)
