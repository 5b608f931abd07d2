"""Family of OPeNDAP: DAP2 and DAP4 servers, DMR++ documents, and what they share."""
