"""MATLAB v7.3: variables of a workspace as groups and arrays, in the shapes that MATLAB shows."""
