"""Plain transcriptions that the program is compared with."""
