"""Reading a harness's files without trusting them: every problem is noted with its file and line."""
