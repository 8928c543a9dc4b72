"""The report: figures and one HTML page, made from results. Nothing is computed here."""
