// A kernel of any number of tiles through two pairs of buffers, while other cores compute: `dmaverify check scale.c --engine manticore`.
#include "snrt.h"
#include "scale.h"

void scale(const scale_args_t *args) {
    double *in[2], *out[2];
    in[0] = (double *)snrt_l1_next();
    in[1] = in[0] + TILE;
    out[0] = in[1] + TILE;
    out[1] = out[0] + TILE;

    for (uint32_t i = 0; i < args->n + 2; i++) {
        if (snrt_is_dm_core()) {
            if (i < args->n) snrt_dma_load_1d_tile(in[i % 2], args->x, i, TILE, sizeof(double));
            if (i > 1) snrt_dma_store_1d_tile(args->y, out[i % 2], i - 2, TILE, sizeof(double));
            snrt_dma_wait_all();
        }
        snrt_cluster_hw_barrier();
    }
}
