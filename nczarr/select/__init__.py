"""Parts of datasets: variables, groups, sections, and values by index. `Checked` in, `Checked` out."""
