// A kernel of three functions: the helpers hold the copies and the flags.
// dmaverify: expect proved
// dmaverify: gm %src = 4x32x96xf16
// broken: func.call @fetch(%src_i, %buffer, %c192_i64, %c192_i64) => func.call @fetch(%src_i, %buffer, %c192_i64, %c160_i64) => pto/row-overlap
module {
  func.func private @fetch(%gm: !pto.ptr<f16, gm>, %ub: !pto.ptr<f16, ub>, %from_pitch: i64, %to_pitch: i64) {
    %zero = arith.constant 0 : i64
    %rows = arith.constant 32 : i64
    %bytes = arith.constant 192 : i64
    pto.mte_gm_ub %gm, %ub, %zero, %bytes nburst(%rows, %from_pitch, %to_pitch) : !pto.ptr<f16, gm>, !pto.ptr<f16, ub>, i64, i64, i64, i64, i64
    pto.set_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
    return
  }
  func.func private @flush(%ub: !pto.ptr<f16, ub>, %gm: !pto.ptr<f16, gm>) -> index {
    %one = arith.constant 1 : index
    %rows = arith.constant 32 : i64
    %bytes = arith.constant 192 : i64
    pto.wait_flag["PIPE_MTE2", "PIPE_MTE3", "EVENT_ID0"]
    pto.mte_ub_gm %ub, %gm, %bytes nburst(%rows, %bytes, %bytes) : !pto.ptr<f16, ub>, !pto.ptr<f16, gm>, i64, i64, i64, i64
    pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"]
    pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID0"]
    func.return %one : index
  }
  func.func @helpers(%src: !pto.ptr<f16, gm>, %dst: !pto.ptr<f16, gm>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c3072 = arith.constant 3072 : index
    %c160_i64 = arith.constant 160 : i64
    %c192_i64 = arith.constant 192 : i64
    %c8192_i64 = arith.constant 8192 : i64
    %buffer = pto.castptr %c8192_i64 : i64 -> !pto.ptr<f16, ub>
    scf.for %i = %c0 to %c4 step %c1 {
      %skip = arith.muli %i, %c3072 : index
      %src_i = pto.addptr %src, %skip : <f16, gm> -> <f16, gm>
      %dst_i = pto.addptr %dst, %skip : <f16, gm> -> <f16, gm>
      func.call @fetch(%src_i, %buffer, %c192_i64, %c192_i64) : (!pto.ptr<f16, gm>, !pto.ptr<f16, ub>, i64, i64) -> ()
      %done = func.call @flush(%buffer, %dst_i) : (!pto.ptr<f16, ub>, !pto.ptr<f16, gm>) -> index
    }
    return
  }
}
