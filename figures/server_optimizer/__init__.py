"""An experiment: does the accuracy rise with the cut if the server keeps momentum?"""
