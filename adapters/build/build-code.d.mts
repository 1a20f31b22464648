export declare function buildCode(dir: string, program?: string): Promise<void>
