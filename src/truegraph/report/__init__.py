"""How results are shown: tables, pictures and pages."""
