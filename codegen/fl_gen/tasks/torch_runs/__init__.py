"""Programs that another Python runs: the one that has PyTorch and the generated package.

They import nothing of fl-gen. Each reads its task from a JSON file and writes a JSON file.
"""
