"""`make calibrate`: fits the measured cost profile to the sample, rewrites its data, prints the error of every row."""

import sys

from dmaverify.cost.calibrate import main

if __name__ == "__main__":
    sys.stdout.write(main(sys.argv[1:]) + "\n")
