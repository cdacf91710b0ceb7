"""Li et al., *On the Convergence of FedAvg on Non-IID Data*, ICLR 2020."""
