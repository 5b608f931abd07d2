"""HTML pages and their machine forms: folders, datasets, pictures of variables.

Owns everything that a browser sees. Imports open datasets, requests and answers
(`serve/`), and hands texts and bytes on to `serve/routes.py`. Pages are whole
without JavaScript; scripts and styles are files (`static/`), because the
Content-Security-Policy permits nothing inline. Names and texts of datasets are
escaped.
"""
