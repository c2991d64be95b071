"""Wordings of descriptions and hook messages by a strong model, checked like those written by hand."""
