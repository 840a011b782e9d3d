"""The parser and printer of Tile IR text, and the disassembler that makes the text."""
