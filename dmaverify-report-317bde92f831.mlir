func.func @k(%a: !pto.ptr<f32, gm>, %b: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : i64
  %c8 = arith.constant 8 : i64
  %c128 = arith.constant 128 : i64
  %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
  pto.mte_gm_ub %a, %u, %c0, %c128 nburst(%c8, %c128, %c128) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64
  pto.mte_ub_gm %u, %b, %c128 nburst(%c8, %c128, %c128) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, i64
  return
}
