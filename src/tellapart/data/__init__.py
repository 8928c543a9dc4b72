"""Other people's tables in: whatever its form, a table becomes behavior, and what was understood is said."""
