"""Numbers: from runs, from the queue host, and from models, as rows with a value per seed."""
