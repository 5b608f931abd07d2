"""DDS, DAS and DODS → datasets, from files and from servers."""
