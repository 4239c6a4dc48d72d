"""PyTorch's own databases of operators, modules and optimizers, run on a generated device and compared with the CPU."""
