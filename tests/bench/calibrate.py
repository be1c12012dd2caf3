"""`make calibrate`: fits the cost profiles to the samples, rewrites their data, prints errors, rows and bands."""

import sys

from dmaverify.cost.leave_out import main

if __name__ == "__main__":
    sys.stdout.write(main(sys.argv[1:]) + "\n")
