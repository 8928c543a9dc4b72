"""What any task is: design space, fields, rules. Bandits have a folder of their own."""
