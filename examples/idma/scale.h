#ifndef SCALE_H
#define SCALE_H

// What a kernel is given: vectors of `n` tiles, one after the other.
typedef struct {
    uint32_t n;
    double *x, *y;
} scale_args_t;

#define TILE 512

#endif
