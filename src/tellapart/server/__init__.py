"""From design to people and back: the experiment in a browser.

settings.py, texts.py    what the researcher says: numbers and words, in serve.toml and texts.toml beside the study
plan.py                  what is served: conditions, orders of blocks, seeds
policy.py                what gives a participant's next block
tables.py, database.py   SQLite or PostgreSQL
store.py                 reads and writes; knows nothing of HTTP
sessions.py              the rules of taking part; knows nothing of HTTP
live.py                  what the researcher sees
guard.py                 limits and headers
api.py, pages.py         a few lines over the rules for each address
app.py                   all of it as a function of settings
simulated.py             agents that take part
collected.py             the data, as a Behavior and as a long table
exports/                 Psych-DS, jsPsych, PsychoPy, JSON
"""
