"""Models and documents that several families of formats share."""
