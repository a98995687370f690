"""What collisions of short flow ids cost flows under CHOKe's hardware model."""
