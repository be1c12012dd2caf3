// The largest of 64 numbers, by the vector unit; the scalar unit reads it, adds one and puts it beside the tensor.
// dmaverify: gm %in = 64xf32
// dmaverify: gm %out = 8xf32
// dmaverify: expect proved
func.func @scalar(%in: !pto.ptr<f32, gm>, %out: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %eight = arith.constant 8 : i64
  %len = arith.constant 256 : i64
  %step = arith.constant 1.0 : f32
  %x = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %t = pto.castptr %len : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %in, %x, %z, %len nburst(%one, %len, %len)
    : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64, i64, i64, i64
  pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.vecscope {
    %all = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
    %v = pto.vlds %x[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
    %top = pto.vcmax %v, %all : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
    pto.vsts %top, %t[%c0], %all {dist = "1PT_B32"} : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
  }
  pto.set_flag["PIPE_V", "PIPE_S", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_S", "EVENT_ID0"]
  %top = pto.load_scalar %t[%c0] : !pto.ptr<f32, ub> -> f32
  %more = arith.addf %top, %step : f32
  pto.store_scalar %more, %t[%c1] : !pto.ptr<f32, ub>, f32
  pto.set_flag["PIPE_S", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_S", "PIPE_MTE3", "EVENT_ID0"]
  pto.mte_ub_gm %t, %out, %eight nburst(%one, %eight, %eight)
    : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64, i64, i64, i64
  return
}
