"""The CF conventions: rules (`check --cf`), declarations (`--declare geo`) and catalogue items (`info --stac`)."""
