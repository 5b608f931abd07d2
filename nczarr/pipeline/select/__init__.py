"""Parts of datasets: variables, groups, sections, and values by index. From `Checked` to `Checked`."""
