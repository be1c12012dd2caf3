// Rows of bf16 by the root of their squares' mean and a weight that is loaded once.
// dmaverify: expect proved
// broken: pto.wait_flag[<PIPE_MTE3>, <PIPE_V>, <EVENT_ID0>] // the row before is stored => pto.wait_flag[<PIPE_MTE3>, <PIPE_V>, <EVENT_ID1>] // the row before is stored => core/flags
// dmaverify: gm %x = 128x512xbf16
// dmaverify: gm %gamma = 512xf32
// dmaverify: gm %y = 128x512xbf16
// dmaverify: assume %rows in 0..128
func.func @rmsnorm(%x: !pto.ptr<bf16, gm>, %gamma: !pto.ptr<f32, gm>, %y: !pto.ptr<bf16, gm>, %rows: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c512 = arith.constant 512 : index
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %c1024_i64 = arith.constant 1024 : i64
  %c2048_i64 = arith.constant 2048 : i64
  %c3072_i64 = arith.constant 3072 : i64
  %c5120_i64 = arith.constant 5120 : i64
  %c5152_i64 = arith.constant 5152 : i64
  %g = pto.castptr %c0_i64 : i64 -> !pto.ptr<f32, ub>
  %in = pto.castptr %c2048_i64 : i64 -> !pto.ptr<bf16, ub>
  %wide = pto.castptr %c3072_i64 : i64 -> !pto.ptr<f32, ub>
  %rms = pto.castptr %c5120_i64 : i64 -> !pto.ptr<f32, ub>
  %out = pto.castptr %c5152_i64 : i64 -> !pto.ptr<bf16, ub>
  pto.mte_gm_ub %gamma, %g, %c0_i64, %c2048_i64 nburst(%c1_i64, %c2048_i64, %c2048_i64)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.set_flag[<PIPE_MTE3>, <PIPE_V>, <EVENT_ID0>]
  pto.set_flag[<PIPE_V>, <PIPE_MTE2>, <EVENT_ID0>]
  scf.for %r = %c0 to %rows step %c1 {
    %at = arith.muli %r, %c512 : index
    %s = pto.addptr %x, %at : <bf16, gm> -> <bf16, gm>
    %d = pto.addptr %y, %at : <bf16, gm> -> <bf16, gm>
    pto.wait_flag[<PIPE_V>, <PIPE_MTE2>, <EVENT_ID0>]
    pto.mte_gm_ub %s, %in, %c0_i64, %c1024_i64 nburst(%c1_i64, %c1024_i64, %c1024_i64)
      : !pto.ptr<bf16, gm>, !pto.ptr<bf16, ub>, i64, i64, i64, i64, i64
    pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_MTE3>, <PIPE_V>, <EVENT_ID0>] // the row before is stored
    pto.vecscope {
      %all = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
      %h = pto.pset_b16 "PAT_ALL" : !pto.mask<b16>
      %one = pto.pset_b32 "PAT_VL1" : !pto.mask<b32>
      %zero = arith.constant 0.0 : f32
      %z = pto.vbr %zero : f32 -> !pto.vreg<64xf32>
      %sq = scf.for %j = %c0 to %c512 step %c64 iter_args(%acc = %z) -> (!pto.vreg<64xf32>) {
        %n = pto.vlds %in[%j] {dist = "UNPK_B16"} : !pto.ptr<bf16, ub> -> !pto.vreg<128xbf16>
        %w = pto.vcvt %n, %h {part = "EVEN"} : !pto.vreg<128xbf16>, !pto.mask<b16> -> !pto.vreg<64xf32>
        pto.vsts %w, %wide[%j], %all : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
        %w2 = pto.vmul %w, %w, %all : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        %acc2 = pto.vadd %acc, %w2, %all : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        scf.yield %acc2 : !pto.vreg<64xf32>
      }
      %t = pto.vcadd %sq, %all : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
      %rt = pto.vsqrt %t, %all : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
      pto.vsts %rt, %rms[%c0], %one {dist = "1PT_B32"} : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
      pto.mem_bar "VST_VLD"
      %div = pto.vlds %rms[%c0] {dist = "BRC_B32"} : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      scf.for %j = %c0 to %c512 step %c64 {
        %w = pto.vlds %wide[%j] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
        %gg = pto.vlds %g[%j] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
        %q = pto.vdiv %w, %div, %all : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        %f = pto.vmul %q, %gg, %all : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        %nb = pto.vcvt %f, %all {rnd = "R", sat = "SAT", part = "EVEN"} : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<128xbf16>
        pto.vsts %nb, %out[%j], %all {dist = "PK_B32"} : !pto.vreg<128xbf16>, !pto.ptr<bf16, ub>, !pto.mask<b32>
      }
    }
    pto.set_flag[<PIPE_V>, <PIPE_MTE2>, <EVENT_ID0>]
    pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.mte_ub_gm %out, %d, %c1024_i64 nburst(%c1_i64, %c1024_i64, %c1024_i64)
      : !pto.ptr<bf16, ub>, !pto.ptr<bf16, gm>, i64, i64, i64, i64
    pto.set_flag[<PIPE_MTE3>, <PIPE_V>, <EVENT_ID0>]
  }
  pto.wait_flag[<PIPE_MTE3>, <PIPE_V>, <EVENT_ID0>]
  pto.wait_flag[<PIPE_V>, <PIPE_MTE2>, <EVENT_ID0>]
  return
}
