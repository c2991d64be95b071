"""The paper's table on one's own machine: arms, their units of work, and the table made of what is there."""
