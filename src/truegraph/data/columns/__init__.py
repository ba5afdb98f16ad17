"""Mixed columns of a table become numbers: what each column is, and how it is turned."""
