"""Reading ports and holding them against what Python fixed."""
