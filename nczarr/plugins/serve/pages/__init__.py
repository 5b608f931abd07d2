"""HTML pages and their machine forms: folders, datasets, pictures of variables.

Owns everything that a browser sees. Imports open datasets, requests and answers
(`serve/`), and hands texts and bytes on to `serve/application.py`. Modules compute
what a page shows, its template (`templates/`) has the HTML. Pages are whole
without JavaScript; scripts and styles are files (`static/`), because the
Content-Security-Policy permits nothing inline. Templates escape everything.
"""
