"""FedAvg, FedProx, FedOpt, SFL-V1, SFL-V2, MiniBatch-SFL, SL and centralised SGD."""
