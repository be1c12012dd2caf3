// Row maximum, exponential, row sum and quotient of 8 rows of 40 numbers; maxima and sums are one number a row.
// dmaverify: gm %in = 8x40xf32
// dmaverify: gm %out = 8x40xf32
// dmaverify: expect proved
func.func @softmax_rows(%in: !pto.ptr<f32, gm>, %out: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c40 = arith.constant 40 : index
  %z = arith.constant 0 : i64
  %rows = arith.constant 8 : i64
  %len = arith.constant 160 : i64
  %n40 = arith.constant 40 : i32
  %xs = arith.constant 1280 : i64
  %mxs = arith.constant 2560 : i64
  %sms = arith.constant 2592 : i64
  %x = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %e = pto.castptr %xs : i64 -> !pto.ptr<f32, ub>
  %max = pto.castptr %mxs : i64 -> !pto.ptr<f32, ub>
  %sum = pto.castptr %sms : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %in, %x, %z, %len nburst(%rows, %len, %len)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.vecscope {
    %m, %none = pto.plt_b32 %n40 : i32 -> !pto.mask<b32>, i32
    %first = pto.pset_b32 "PAT_VL1" : !pto.mask<b32>
    scf.for %r = %c0 to %c8 step %c1 {
      %at = arith.muli %r, %c40 : index
      %v = pto.vlds %x[%at] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      %top = pto.vcmax %v, %m : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
      pto.vsts %top, %max[%r], %first {dist = "1PT_B32"} : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
    }
    pto.mem_bar "VST_VLD"
    scf.for %r = %c0 to %c8 step %c1 {
      %at = arith.muli %r, %c40 : index
      %v = pto.vlds %x[%at] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      %top = pto.vlds %max[%r] {dist = "BRC_B32"} : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      %d = pto.vsub %v, %top, %m : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
      %w = pto.vexp %d, %m : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
      %s = pto.vcadd %w, %m : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
      pto.vsts %w, %e[%at], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
      pto.vsts %s, %sum[%r], %first {dist = "1PT_B32"} : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
    }
    pto.mem_bar "VST_VLD"
    scf.for %r = %c0 to %c8 step %c1 {
      %at = arith.muli %r, %c40 : index
      %w = pto.vlds %e[%at] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      %s = pto.vlds %sum[%r] {dist = "BRC_B32"} : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
      %q = pto.vdiv %w, %s, %m : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
      pto.vsts %q, %e[%at], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
    }
  }
  pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.mte_ub_gm %e, %out, %len nburst(%rows, %len, %len)
    : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  return
}
